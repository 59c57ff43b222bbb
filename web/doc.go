// Package web is the HTTP machinery that any server-rendered application
// needs: the server and its limits, headers, sessions, tokens, cross-site
// protection, passwords, throttling, strict JSON, and the one place where an
// error becomes a status. It leaves to others what the application is about:
// handlers decides what a route does and which permission it needs, views how
// a page looks, and a store keeps the rows behind the small interfaces that
// are declared here.
package web
