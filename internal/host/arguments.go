package host

// SplitArguments splits a kernel command line at white space outside of double quotes, and reports whether every quote
// was closed. The words keep their quotes.
//
//	BOOT_IMAGE=/boot/vmlinuz-6.1.0-50-amd64 root=UUID=1f2e ro quiet dyndbg="file drivers/usb/* +p"
//	BOOT_IMAGE=(hd0,gpt2)/vmlinuz-6.8.5-301.fc40.x86_64 root=/dev/mapper/fedora-root ro "dyndbg=module nvme +p" rhgb quiet
//	initrd=\EFI\debian\initrd.img root=UUID=1f2e ro -- single
//
// Source: next_arg in the kernel's lib/cmdline.c.
func SplitArguments(text string) (words []string, closed bool) {
	word, quoted := "", false
	for _, c := range []byte(text) {
		if !quoted && (c == ' ' || c == '\t' || c == '\n') {
			if word != "" {
				words = append(words, word)
			}
			word = ""
			continue
		}
		if c == '"' {
			quoted = !quoted
		}
		word += string([]byte{c})
	}
	if word != "" {
		words = append(words, word)
	}
	return words, !quoted
}
