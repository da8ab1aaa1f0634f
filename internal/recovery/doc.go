// Package recovery cleans up what killed runs left: changed settings, boots, loads, scratch files, pods, builds and
// mounts. The next command on a target does so before it starts, and headroom restore at any time.
package recovery
