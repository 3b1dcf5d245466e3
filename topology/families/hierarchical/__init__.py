"""Hierarchical networks, of which only the lowest routers have hosts.

`fat_tree` is the k-ary n-tree, `megafly` the dragonfly of leaf and spine routers, `orthogonal_fat_tree` and
`multi_layer_full_mesh` are two networks of diameter two between the routers with hosts. `levels` is for what
has no more structure than its levels.
"""
