// Package kbuild builds Linux kernels between two others: with some of the build options from one, and the rest from
// the other. The tree's own tools determine which options can be switched without others, and values that they refuse
// are reported.
//
// Only the kernel's image is built, no modules: drivers that a guest needs to boot and to reach its disks must be built
// in (=y).
//
// Nothing is written into the source tree. The cache can be deleted whenever nothing is being built:
//
//	tree-9b01c2d4/           of one tree and the further words for its make; what locks the folder is at work in it
//	tree-9b01c2d4/objects/   what make makes (O=), shared by all kernels of the tree
//	tree-9b01c2d4/unclean    says that make may have left halves of files among the objects, so that they go before the next build
//	3f2a9c01b7de/bzImage     a kernel, by the hash of all that it was made of; it is there as a whole or not at all
//	3f2a9c01b7de/config      its configuration
//	3f2a9c01b7de/release     what it says of itself (uname -r)
//
// A search creates a Between of two configurations, which groups the differences, and mixes them:
//
//	tree, err := kbuild.Open(ctx, terms)
//	between, err := tree.Between(ctx, good, bad, known, say)
//	mixed, err := between.Mix(ctx, switched)
//	kernel, err := tree.Build(ctx, mixed.Config)
package kbuild
