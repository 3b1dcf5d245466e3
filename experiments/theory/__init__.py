"""The fluid model, explanations of paths, and exports of graphs."""
