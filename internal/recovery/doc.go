// Package recovery looks after what killed runs left: settings that are still changed, boots, loads, scratch files,
// pods, builds and mounts. The next command on a target does it before it starts, and headroom restore at any time.
package recovery
