package run

import (
	"context"

	"nod/agent/approval"
	"nod/agent/do"
	"nod/agent/view"
	"nod/chat"
	"nod/llm"
	"nod/memory"
)

// Previewer is a Toolbox with previews. Preview says the effect of a call and changes
// nothing. A failure is in the Preview, for the people who decide; the error is for the
// operator.
type Previewer interface {
	Preview(ctx context.Context, desk chat.Desk, call llm.Call) (chat.Preview, error)
}

// previews begins the missing previews, and meanwhile other possible actions.
func (d *driver) previews(act do.Preview) (begun bool, err error) {
	if begun = d.beginSome(act.Calls, previewWork, d.preview); begun || act.Beside == nil {
		return begun, nil
	}
	return d.perform(act.Beside)
}

// previewWork names it among the works. People may change the arguments meanwhile.
func previewWork(c memory.Call) string {
	return "preview/" + c.ID + "/" + approval.Previewed(c, chat.Preview{}, 0).Of
}

// preview runs the preview of a call.
func (d *driver) preview(c memory.Call) {
	desk := d.Agent.Desk(d.log)
	d.begin(previewWork(c), asks, func(ctx context.Context) outcome {
		ctx, cancel := context.WithTimeout(ctx, d.Agent.Tools.Within(c.Tool)+overtime)
		defer cancel()
		start := d.Host.Now()
		p := d.previewed(ctx, c, desk)
		out := approval.Previewed(c, p, d.Host.Now().Sub(start))
		if len(p.Text) > view.MostPreview && ctx.Err() == nil {
			kept, err := d.keep(llm.File{Name: "preview.txt", MediaType: "text/plain; charset=utf-8", Data: []byte(chat.Exact(p.Text))})
			if err != nil {
				d.Log.Error("keep a preview", "thread", d.thread.String(), "tool", c.Tool, "error", err)
			}
			out.File = kept
		}
		return outcome{settle: func() error {
			if d.stale(c.ID) {
				return nil
			}
			return d.commit(out)
		}}
	})
}

// previewed asks the toolbox. Without a preview the card shows the reason.
func (d *driver) previewed(ctx context.Context, c memory.Call, desk chat.Desk) (p chat.Preview) {
	box, ok := d.Tools.(Previewer)
	if !ok {
		return chat.Preview{Err: "there is none"}
	}
	desk.Thread = d.thread
	desk.Open = func(ctx context.Context, f chat.File) ([]byte, error) { return d.Store.Blob(ctx, d.thread, f.Blob) }
	err := d.safely(d.thread, "run a preview", func() (err error) {
		p, err = box.Preview(ctx, desk, llm.Call{ID: c.ID, Name: c.Tool, Args: c.Args})
		return err
	})
	if err != nil {
		d.Log.Error("run a preview", "thread", d.thread.String(), "tool", c.Tool, "error", err)
		if p.Err == "" {
			p.Err = "it broke down"
		}
	}
	return p
}
