// Package designtest tests what every kind of experiment must do, whatever it measures: it does what its dry run lists;
// wherever it is interrupted or killed, everything is restored and --resume reaches the same end; failed loads, lost
// machines and budgets end it cleanly; and a saved run shows what was printed. An experiment is an entry in a table: a
// command line, and the scripted machines that it runs on.
package designtest
