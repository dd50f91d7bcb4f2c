package run

import (
	"context"

	"nod/chat"
	"nod/memory"
)

// readier is a Toolbox that knows why a call would not run now, in words for the model;
// "" if it would.
type readier interface {
	NotReady(ctx context.Context, tool string) string
}

// unready removes approvals whose calls would not run anyway: the tool is off, or its
// server is away. The calls get that as the outcome.
func (d *driver) unready(ctx context.Context, open []memory.Asked) (rest []memory.Asked, over []memory.Body) {
	box, ok := d.Tools.(readier)
	if !ok {
		return open, nil
	}
	for _, a := range open {
		why := ""
		err := d.safely(d.thread, "see whether a tool is there", func() error {
			why = box.NotReady(ctx, a.Tool)
			return nil
		})
		if err != nil || why == "" { // in doubt the approval opens
			rest = append(rest, a)
			continue
		}
		over = append(over, memory.Result{Call: a.Call, Tool: a.Tool, State: chat.CallFailed, Text: why})
	}
	return rest, over
}
