package command

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"nod/chat"
	"nod/tools"
)

// preview runs the program that describes a call's effect. It has the limits of the
// command itself: no shell, the same environment, folder and time, and no input.
func (c *command) preview(ctx context.Context, in tools.Input) (chat.Preview, error) {
	values, err := readValues(in.Args)
	if err != nil {
		return chat.Preview{}, fmt.Errorf("read arguments: %w", err)
	}
	before := *c
	before.Argv, before.Output = c.Preview, OutputText
	argv, err := before.fill(values)
	if err != nil {
		return chat.Preview{Err: err.Error()}, nil
	}
	p := process{argv: argv, stdout: tools.NewCapture(tools.PreviewCap, 0), stderr: tools.NewCapture(tools.PreviewCap, 0)}
	r, err := before.execute(ctx, p)
	out := chat.Preview{Text: streams(p.stdout.Text(), p.stderr.Text())}
	switch flood := p.stdout.Size()+p.stderr.Size() > tools.PreviewCap; {
	case err != nil && errors.Is(err, context.Canceled):
		return out, err
	case r.Failed:
		out.Err, _, _ = strings.Cut(r.Text, "\n")
		out.Err, _, _ = strings.Cut(strings.TrimPrefix(out.Err, c.Name+" "), ";") // what it had begun is nothing
	case flood:
		out.Err = "it wrote more than 64 KB"
	}
	return out, err
}
