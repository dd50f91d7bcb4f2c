package agent

import (
	"bytes"
	"encoding/json"

	"nod/agent/approval"
	"nod/agent/policy"
	"nod/agent/thread"
	"nod/memory"
)

// runPreviews runs the previews that are missing. Other work goes on beside.
func (d *decision) runPreviews(last *thread.Step, beside Action) Action {
	var out Preview
	for _, c := range last.Calls {
		tool, _ := d.agent.Tools.Find(c.Tool)
		if c.Result != nil || c.Started || !d.approval().LacksPreview(c) {
			continue
		}
		if risk, _ := d.taint().Risk(tool, c); risk != policy.Ask {
			continue
		}
		if why := d.taint().BarsPreview(tool, c); why != "" {
			return Record{[]memory.Body{approval.Unseen(c, why)}}
		}
		out.Calls = append(out.Calls, c.Call)
	}
	if len(out.Calls) == 0 {
		return beside
	}
	out.Beside = beside
	return out
}

// checkPreview runs the preview of an approved call once more; nil when that was done, or
// need not be.
func (d *decision) checkPreview(c *thread.Call) Action {
	tool, _ := d.agent.Tools.Find(c.Tool)
	if !tool.Preview || c.Asked == nil && c.Use.Grant == nil || c.Preview.Check != nil && !d.before(c.Preview.Check.Seq) {
		return nil
	}
	if why := d.taint().BarsPreview(tool, c); why != "" {
		return Record{[]memory.Body{approval.Unseen(c, why)}}
	}
	return Preview{Calls: []memory.Call{c.Call}}
}

// previewChange runs the preview of a call with other arguments, before the change is
// judged.
func (d *decision) previewChange(p thread.Proposal) Action {
	tool, _ := d.agent.Tools.Find(p.Call.Tool)
	anybody := func(string) (bool, error) { return true, nil }
	if !tool.Preview || d.approval().Refuses(p, anybody) != "" {
		return nil
	}
	var compact bytes.Buffer
	if json.Compact(&compact, []byte(p.Args)) != nil {
		return nil
	}
	next := p.Call.With(compact.String())
	if next.Preview.Bound != nil {
		return nil
	}
	if why := d.taint().BarsPreview(tool, next); why != "" {
		return Record{[]memory.Body{approval.Unseen(next, why)}}
	}
	return Preview{Calls: []memory.Call{next.Call}}
}
