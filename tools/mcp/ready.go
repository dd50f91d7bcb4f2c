package mcp

import "context"

// notReady says why a call of a tool would not run now, in words for the model; "" if
// it would. Nobody is asked to approve such a call.
func (s *server) notReady(ctx context.Context, o offer) string {
	l, err := s.ready(ctx, nil)
	if err != nil {
		r, _ := s.unavailable(ctx, o, err)
		return r.Text
	}
	if off := differs(o.d, l.tools); off != "" {
		return switchedOff(o, off).Text
	}
	return ""
}
