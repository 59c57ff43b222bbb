// Package docs holds the documents that the program itself hands out.
package docs

import _ "embed"

// OpenAPI is the description of the HTTP API, as /api/v1/openapi.yaml gives it.
//
//go:embed openapi.yaml
var OpenAPI []byte
