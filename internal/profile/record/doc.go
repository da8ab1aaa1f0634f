// Package record writes down what the kernel does while a load runs, on the machine that it runs on: headroom copies
// itself there and is started in this mode. It is handed a profile.Request and prints a profile.Recording.
package record
