// Package staged makes documents of what was measured part by part: the rungs of a ladder, the layers of storage, the
// stages of a run, the hours of a soak, and loads alone and together.
package staged
