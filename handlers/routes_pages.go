package handlers

// pageRoutes are the screens of people, and what their forms post to.
func (h *Handlers) pageRoutes() []route {
	return append(h.pageRoutesA(), h.pageRoutesB()...)
}
