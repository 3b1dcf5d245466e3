"""Hierarchical networks, in which only the lowest routers have hosts.

`fat_tree` is the k-ary n-tree, `megafly` the dragonfly of leaf and spine routers; `orthogonal_fat_tree` and
`multi_layer_full_mesh` have diameter two between routers with hosts; `tree` is a balanced tree without
redundancy. `levels` is the base of networks without further structure.
"""
