// Package staged makes documents about measurements in parts: the rungs of a ladder, the layers of storage, the stages
// of a run, the hours of a soak, and loads alone and together.
package staged
