package tools

import (
	"context"
	"fmt"
	"strings"

	"nod/chat"
	"nod/llm"
	"nod/llm/args"
)

// PreviewCap is the most bytes that a preview may write.
const PreviewCap = 64 << 10

// Preview describes a call's effect, and changes nothing. A failure is in the Preview,
// for the people who decide; the error is for the operator. It is run.Previewer.
func (b *Box) Preview(ctx context.Context, desk chat.Desk, call llm.Call) (chat.Preview, error) {
	tool, ok := b.tools[call.Name]
	if !ok || tool.Preview == nil {
		return chat.Preview{Err: "there is none"}, nil
	}
	raw, err := args.Native(call.Args)
	if err != nil {
		return chat.Preview{Err: err.Error()}, nil
	}
	if wrong := b.schemas[tool.Name].Check(raw); len(wrong) > 0 {
		return chat.Preview{Err: strings.Join(wrong, "; ")}, nil
	}
	p, err := guarded(ctx, tool.Preview, Input{Desk: desk, Args: raw})
	if err != nil {
		err = fmt.Errorf("preview tool %s: %w", tool.Name, err)
		if p.Err == "" {
			p.Err = "it broke down"
		}
	}
	if len(p.Text) > PreviewCap {
		p.Text, p.Err = p.Text[:PreviewCap], "it wrote more than 64 KB"
	}
	p.Err = Clean(p.Err)
	if b.Mask != nil {
		p.Text, p.Err = b.Mask.Text(p.Text), b.Mask.Text(p.Err)
	}
	p.Text, p.Err = strings.ToValidUTF8(strings.TrimRight(p.Text, "\r\n"), "\ufffd"), OneLine(p.Err, 200)
	return p, err
}
