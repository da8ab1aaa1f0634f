// Package designtest is what every kind of experiment must do, whatever it measures: its dry run lists what is then
// done; wherever it is interrupted or killed, all is put back and --resume comes to the same end; failed loads, lost
// machines and budgets end it in order; and a saved run says what was printed. An experiment is an entry in a table: a
// command line, and the scripted machines that it runs on.
package designtest
