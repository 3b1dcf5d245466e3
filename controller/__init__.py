"""Control plane: a controller application that installs plans on switches, adapts and replaces them."""
