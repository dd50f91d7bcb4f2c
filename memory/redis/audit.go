package redis

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"strconv"
	"time"

	"nod/chat"
	"nod/memory"
)

// encodeAudit gives the JSON of an audit line. Its time is set by the script
// and kept beside it.
func encodeAudit(l memory.AuditLine) (string, error) {
	raw, err := json.Marshal(l)
	if err != nil {
		return "", fmt.Errorf("encode audit line: %w", err)
	}
	return string(raw), nil
}

// Audit implements [memory.Auditor]. Lines of different channels lie in
// different shards, and are put in order by their time.
func (l *link) Audit(ctx context.Context, thread chat.ThreadID) iter.Seq2[memory.AuditLine, error] {
	return func(yield func(memory.AuditLine, error) bool) {
		var heads []*auditHead
		for shard := range shards {
			if thread == (chat.ThreadID{}) || shard == shardOfThread(thread) {
				heads = append(heads, &auditHead{l: l, shard: shard, thread: thread, after: "-"})
			}
		}
		for {
			var first *auditHead
			for _, h := range heads {
				ok, err := h.load(ctx)
				if err != nil {
					yield(memory.AuditLine{}, fmt.Errorf("read audit log: %w", err))
					return
				}
				if ok && (first == nil || h.lines[0].At.Before(first.lines[0].At)) {
					first = h
				}
			}
			if first == nil || !yield(first.lines[0], nil) {
				return
			}
			first.lines = first.lines[1:]
		}
	}
}

// auditHead reads the audit lines of one shard, some at a time.
type auditHead struct {
	l      *link
	shard  int
	thread chat.ThreadID // zero: of all
	after  string        // where to read on; empty at the end
	lines  []memory.AuditLine
}

// load sees to it that there is a line, unless there are no more.
func (h *auditHead) load(ctx context.Context) (bool, error) {
	for len(h.lines) == 0 && h.after != "" {
		found, err := h.l.cmd.XRangeN(ctx, h.l.keys.own(h.shard, "audit"), h.after, "+", page).Result()
		if err != nil {
			return false, err
		}
		h.after = ""
		for _, m := range found {
			l, err := decodeAudit(m.Values)
			if err != nil {
				return false, err
			}
			if h.thread == (chat.ThreadID{}) || h.thread == l.Thread {
				h.lines = append(h.lines, l)
			}
		}
		if len(found) == page {
			h.after = "(" + found[page-1].ID
		}
	}
	return len(h.lines) > 0, nil
}

func decodeAudit(values map[string]any) (memory.AuditLine, error) {
	var l memory.AuditLine
	line, _ := values["line"].(string)
	at, _ := values["at"].(string)
	if err := json.Unmarshal([]byte(line), &l); err != nil {
		return l, fmt.Errorf("decode audit line: %w", err)
	}
	ms, err := strconv.ParseInt(at, 10, 64)
	if err != nil {
		return l, fmt.Errorf("decode time of audit line: %w", err)
	}
	l.At = time.UnixMilli(ms).UTC()
	return l, nil
}
