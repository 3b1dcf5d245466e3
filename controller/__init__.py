"""Route plans and their proof, and the Ryu application that installs them."""
