package script

import (
	"context"
	"fmt"
	"log/slog"
	"regexp"
	"strings"
	"time"

	"nod/agent/incidents"
	"nod/agent/policy"
	"nod/agent/run/keeper"
	"nod/chat"
	"nod/memory"
)

// pages are the rules of the alert that the option alert=APPROVER,… switches on.
var pages = incidents.Rules{
	Name: "pages", Bot: "board:B1", Ask: "Find out what changed.",
	Match: regexp.MustCompile(`FIRING (?P<alert>\S+) (?P<service>\S+)`), Over: regexp.MustCompile("RESOLVED"), Same: "{alert}/{service}",
	Quiet: 30 * time.Minute, Late: time.Hour, Most: 2,
}

// pagers switches the alert on.
func (p *play) pagers(approvers string) {
	p.agent.Alerts = map[string]policy.Alert{pages.Name: {Approvers: strings.Split(approvers, ","), Timeout: 2 * time.Hour}}
}

// keeps starts the keeper of a process.
func (p *play) keeps(ctx context.Context) {
	begin := func(ctx context.Context, channel string, post chat.Post, look bool) (chat.ThreadID, chat.MessageRef, error) {
		at, ref, err := p.board.Copy(ctx, channel, post, look)
		return chat.ThreadID{Platform: at.Platform, Channel: at.Channel, Root: ref.ID}, ref, err
	}
	p.keeper = &keeper.Keeper{
		Store: p.store, Rules: map[string]incidents.Rules{pages.Name: pages}, Begin: begin, Log: slog.New(slog.DiscardHandler), Observe: func(string, string) {},
	}
	p.kept = make(chan struct{})
	go func() {
		defer close(p.kept)
		if err := p.keeper.Run(ctx); err != nil {
			p.t.Errorf("keep alerts: %v", err)
		}
	}()
}

// alerts has an alert come: by a POST, or as the message of a bot, sent so long ago.
func (p *play) alerts(how, text string) {
	p.msgs++
	id := fmt.Sprintf("m%d", p.msgs)
	var err error
	if how == "post" {
		_, err = p.keeper.Posted(p.t.Context(), pages.Name, incidents.Came{Text: text}, id)
	} else {
		sent := time.Now()
		if how != "" {
			sent = sent.Add(-p.duration(how))
		}
		m := chat.Message{Ref: chat.MessageRef{Platform: "board", Channel: "c", ID: id}, From: chat.User{ID: "B1", Bot: true}, Text: text, Sent: sent}
		_, err = p.keeper.Heard(p.t.Context(), []string{"board:B1"}, p.thread, m)
	}
	if err != nil {
		p.t.Errorf("put an alert: %v", err)
	}
}

// held lists the incidents that wait.
func (p *play) held(ctx context.Context, thread chat.ThreadID) ([]memory.Incident, error) {
	if p.keeper == nil {
		return nil, nil
	}
	return p.keeper.Held(ctx, "board:"+thread.Channel, thread, p.store)
}
