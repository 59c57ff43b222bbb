// Package e2e drives the real binaries as their users do: the server with its
// own database and payload folder, the real sample pipeline, a real browser. It
// knows nothing of the inside; it starts programs, reads the address that they
// print, and speaks HTTP.
package e2e
