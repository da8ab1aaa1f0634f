package report

// LogarithmicFrom is how many times the smallest level the largest is where a plot has a logarithmic scale: on another
// one the small ones would be one line.
const LogarithmicFrom = 8
