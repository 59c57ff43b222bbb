package handlers

func (h *Handlers) pageRoutesB() []route { return nil }
