// Package app is what all commands share: the streams and the environment of the program, the store of runs, the
// targets that are opened, what is said to the user, signals, and files that are written. It knows no command and
// measures nothing.
package app
