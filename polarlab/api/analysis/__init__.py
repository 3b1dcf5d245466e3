"""Parts of the Python API that send no packets: plans, proofs, predictions, and the papers' claims."""
