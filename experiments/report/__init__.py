"""Reports: one page of HTML for a run or a sweep."""
