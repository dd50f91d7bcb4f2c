package keeper

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"nod/agent/incidents"
	"nod/chat"
	"nod/memory"
)

// Posted puts an alert that came by a POST into the log of its alert. id is of the
// delivery. ours is false where its text is no alert. Without an error it is durable.
func (k *Keeper) Posted(ctx context.Context, name string, c incidents.Came, id string) (ours bool, err error) {
	return k.put(ctx, k.Rules[name], c, chat.Message{Text: incidents.Body(c.Text)}, chat.ThreadID{}, id)
}

// Named says whether the messages of one of these bots, slack:ID or discord:ID, are alerts.
func (k *Keeper) Named(bots ...string) bool {
	for _, r := range k.Rules {
		if r.Bot != "" && slices.Contains(bots, r.Bot) {
			return true
		}
	}
	return false
}

// Heard puts the message of a bot into the log of each alert that it is one of. thread is
// where it stands, or below it. ours is false for any other message.
func (k *Keeper) Heard(ctx context.Context, bots []string, thread chat.ThreadID, m chat.Message) (ours bool, err error) {
	texts := []string{m.Text}
	for _, q := range m.Quoted {
		texts = append(texts, q.Text)
	}
	text := strings.TrimSpace(strings.Join(texts, "\n"))
	said := chat.Message{Ref: m.Ref, Text: incidents.Body(text), Sent: m.Sent}
	for _, r := range k.Rules {
		if r.Bot == "" || !slices.Contains(bots, r.Bot) {
			continue
		}
		one, err := k.put(ctx, r, incidents.Came{Text: text}, said, thread, m.Ref.String())
		if err != nil {
			return ours, err
		}
		ours = ours || one
	}
	return ours, nil
}

func (k *Keeper) put(ctx context.Context, r incidents.Rules, c incidents.Came, m chat.Message, thread chat.ThreadID, id string) (ours bool, err error) {
	key, over, ok := r.Incident(c)
	if !ok {
		return false, nil
	}
	m.From = chat.AlertUser(r.Name)
	a := &memory.Alert{Name: r.Name, ID: memory.Short(id + key), Incident: key, Resolved: over, Thread: thread}
	if _, err := k.Store.Put(ctx, r.Log(), memory.Message{Message: m, Alert: a}, "alert:"+r.Name+":"+id); err != nil {
		return true, fmt.Errorf("put an alert: %w", err)
	}
	return true, nil
}
