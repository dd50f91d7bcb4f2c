package slack

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"nod/adapters/slack/api"
	"nod/chat"
	"nod/front"
	"nod/internal/fakeslack"
	"nod/internal/ledger"
)

// office is an adapter at work in a fake workspace.
type office struct {
	t    *testing.T
	fake *fakeslack.Server
	a    *Adapter
	in   *ledger.Ledger
	stop func()
}

func open(t *testing.T, f fakeslack.Options, change func(*Options)) *office {
	t.Helper()
	if f.TriggerLife == 0 { // a busy machine is slower than Slack is patient
		f.TriggerLife = ledger.Longest
	}
	o := &office{t: t, fake: fakeslack.Start(t, f), in: ledger.New()}
	o.run(change)
	return o
}

func (o *office) options() Options {
	return Options{
		AppToken: o.fake.AppToken(), BotToken: o.fake.BotToken(), APIURL: o.fake.APIURL(),
		Common:  front.Common{Inbox: o.in, Settle: time.Millisecond},
		Stagger: time.Millisecond, NameWait: ledger.Longest, Trigger: ledger.Longest,
	}
}

// run starts the adapter, and waits until its sockets are open.
func (o *office) run(change func(*Options)) {
	o.t.Helper()
	opt := o.options()
	if change != nil {
		change(&opt)
	}
	a, err := New(opt)
	if err != nil {
		o.t.Fatal(err)
	}
	o.a, o.stop = a, ledger.Run(o.t, a.Run)
	o.wait(func(s *fakeslack.Server) bool { return s.Sockets() == a.o.Sockets })
}

func (o *office) wait(holds func(*fakeslack.Server) bool) {
	o.t.Helper()
	ctx, cancel := context.WithTimeout(o.t.Context(), ledger.Longest)
	defer cancel()
	if err := o.fake.WaitFor(ctx, holds); err != nil {
		o.t.Fatalf("%v; calls: %s", err, o.calls())
	}
}

func (o *office) calls() string {
	var out []string
	for _, c := range o.fake.Calls("") {
		out = append(out, c.Method+" "+c.Error)
	}
	return strings.Join(out, ", ")
}

// said lists why calls were denied, and what people think of answers.
func (o *office) said() (out []string) {
	o.in.Do(func() { out = slices.Clone(o.in.Said) })
	return out
}

// thread is a thread of the fake workspace.
func thread(channel, root string) chat.ThreadID { return api.ThreadID(fakeslack.Team, channel, root) }

const general = "C0GENERAL"
