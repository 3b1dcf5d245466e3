"""Control plane: the Ryu application that installs plans on switches, adapts them and replaces them."""
