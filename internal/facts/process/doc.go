// Package process reads what runs on the machine: busy processes, QEMU guests with their drives, load generators,
// and the limits that control groups put on them.
package process
