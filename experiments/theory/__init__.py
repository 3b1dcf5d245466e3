"""Theory: the fluid model, explanations of paths, exports of graphs."""
