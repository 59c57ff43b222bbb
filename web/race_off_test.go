//go:build !race

package web

const slowdown = 1
