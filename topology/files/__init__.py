"""Files: how input is read and results are written, by root too, in folders that other users can change."""
