// Package collect is what collectors of facts share: a Reader of small files over an fs.FS, the functions that make
// facts of what was read or of the reason why it could not be, the output of commands, and the table of mounts.
package collect
