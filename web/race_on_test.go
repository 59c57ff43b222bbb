//go:build race

package web

// slowdown is how much slower the race detector may make what a test times.
const slowdown = 20
