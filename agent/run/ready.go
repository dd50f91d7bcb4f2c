package run

import (
	"context"

	"nod/chat"
	"nod/memory"
)

// readier is what a Toolbox may be besides: it knows why a call of a tool would not
// run now, in words for the model; "" when it would.
type readier interface {
	NotReady(ctx context.Context, tool string) string
}

// unready takes out those approvals that nobody needs to be asked for, as the calls
// would not run: the tool is switched off, or its server is away. They get that for
// their outcome.
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
		if err != nil || why == "" { // in doubt it is asked
			rest = append(rest, a)
			continue
		}
		over = append(over, memory.Result{Call: a.Call, Tool: a.Tool, State: chat.CallFailed, Text: why})
	}
	return rest, over
}
