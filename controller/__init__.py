"""Control plane: the Ryu application that installs, adapts and repairs plans on switches."""
