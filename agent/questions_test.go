package agent_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"nod/agent"
	"nod/agent/do"
	"nod/agent/policy"
	"nod/agent/taint"
	"nod/chat"
	"nod/memory"
)

// A message after the time for an answer is no reply, also in the moment before the log
// says so: the waiting process does not take it.
func TestReplyInTime(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		after time.Duration
		reply bool
	}{
		"just in time":      {chat.AnswerWithin - time.Nanosecond, true},
		"as the time ends":  {chat.AnswerWithin, false},
		"after it has gone": {chat.AnswerWithin + time.Second, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			entries := entriesOf(
				from("ada", "go"), memory.Opened{Turn: 1, Name: "1", Requester: chat.User{ID: "ada"}}, stepWith(1, 1, 2, callOf("d", "deploy")),
				memory.Started{Call: "d", Tool: "deploy"}, memory.Question{ID: "q", Call: "d", Asks: chat.Question{From: "ops", Text: "Sure?"}},
				memory.Posted{Key: memory.PostKey("question/q", "Sure?"), Ref: ref("asks")},
			)
			asked := entries[4].At
			entries = append(entries, memory.Entry{Seq: 7, At: asked.Add(tt.after), Body: from("ada", "yes")})
			log := agent.NewLog(entries, agent.Claim{})
			if b, ok := log.Thread.Reply("q"); ok != tt.reply || ok && (b.Message != 7 || b.Answer.How != chat.Accepted) {
				t.Errorf("a reply: %t, %+v", ok, b)
			}
		})
	}
}

// The steps say which call waits for an answer, and of whom it comes: from the moment
// in which the question stands until it is answered.
func TestStepsSayWhoInquires(t *testing.T) {
	t.Parallel()
	entries := entriesOf(
		from("ada", "go"), memory.Opened{Turn: 1, Name: "1", Requester: chat.User{ID: "ada"}}, stepWith(1, 1, 2, callOf("d", "deploy")),
		memory.Started{Call: "d", Tool: "deploy"}, memory.Question{ID: "q", Call: "d", Asks: chat.Question{From: "ops", Text: "Sure?"}},
		memory.Posted{Key: memory.PostKey("question/q", "Sure?"), Ref: ref("asks")},
		from("ada", "yes"), memory.Answered{Question: "q", Message: 7, Answer: chat.Answer{How: chat.Accepted}},
	)
	for n, want := range map[int]string{5: "", 6: "ops", 7: "ops", 8: ""} {
		p, _, _, ok := (&agent.Agent{}).StepsPost(agent.NewLog(entries[:n], agent.Claim{}))
		if !ok || p.Steps.Items[0].Calls[0].Inquirer != want {
			t.Errorf("after %d entries: %+v, want %q", n, p.Steps, want)
		}
	}
}

// asksIn is a log in which a call asks ada a question, which stands, with what follows.
func asksIn(started bool, more ...memory.Body) []memory.Entry {
	bodies := []memory.Body{from("ada", "go"), memory.Opened{Turn: 1, Name: "1", Requester: chat.User{ID: "ada"}}, stepWith(1, 1, 2, callOf("d", "deploy"))}
	if started {
		bodies = append(bodies, memory.Started{Call: "d", Tool: "deploy"})
	}
	schema := `{"type":"object","properties":{"n":{"type":"integer","maximum":9}},"required":["n"]}`
	bodies = append(bodies, memory.Question{ID: "q", Call: "d", Claim: "now", Asks: chat.Question{From: "ops", Text: "How many?", Schema: schema}},
		memory.Posted{Key: memory.PostKey("question/q", "How many?"), Ref: ref("asks")})
	return entriesOf(append(bodies, more...)...)
}

// A reply comes from whom the question is for, as a text, while the call waits for it. It
// is accepted if it fits.
func TestWhatIsAReply(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		more []memory.Body
		want chat.How // empty: it is no reply
	}{
		"of the requester":  {[]memory.Body{from("ada", "5")}, chat.Accepted},
		"that does not fit": {[]memory.Body{from("ada", "50")}, chat.Unfit},
		"that declines":     {[]memory.Body{from("ada", "decline")}, chat.Declined},
		"of somebody else":  {[]memory.Body{from("ben", "5")}, ""},
		"a command":         {[]memory.Body{from("ada", "stop")}, ""},
		"an order":          {[]memory.Body{from("ada", `run deploy {"n":5}`)}, ""},
		"a file":            {[]memory.Body{from("ada", "5", chat.File{Name: "a"})}, ""},
		"of a call's past":  {[]memory.Body{memory.Result{Call: "d", State: chat.CallDone}, from("ada", "5")}, ""},
		"of a lost post":    {[]memory.Body{memory.Posted{Key: "question/q~x"}, from("ada", "5")}, ""},
	} {
		b, ok := agent.NewLog(asksIn(true, tt.more...), agent.Claim{}).Thread.Reply("q")
		if ok != (tt.want != "") || ok && b.Answer.How != tt.want {
			t.Errorf("%s: %t, %+v, want %q", name, ok, b, tt.want)
		}
	}
}

// A server may ask for an address that a stranger wants. So words that its question may
// have drawn make no address free. It may end its call before the answer comes.
func TestDrawnWords(t *testing.T) {
	t.Parallel()
	const address = "https://x.example/1"
	a := asking(newTool("deploy", policy.Auto, anyone), newTool("read_page", policy.Auto, anyone))
	a.Tools[1].Sends = []string{"url"}
	done := memory.Result{Call: "d", Tool: "deploy", State: chat.CallDone, Text: address, Origin: "outside"}
	over := func(how chat.How) memory.Body {
		return memory.Answered{Question: "q", Message: 7, Answer: chat.Answer{How: how}}
	}
	in := memory.Answered{Question: "q", Answer: chat.Answer{How: chat.Dropped}}
	later := slices.Repeat([]memory.Body{memory.Due{}}, 10)
	for name, tt := range map[string]struct {
		more []memory.Body
		want policy.Risk
	}{
		"of somebody else":          {[]memory.Body{from("ben", address), done}, policy.Ask},
		"with a file":               {[]memory.Body{from("ada", address, chat.File{Name: "a"}), done}, policy.Ask},
		"behind the answer":         {[]memory.Body{from("ada", "5"), from("ada", address), over(chat.Accepted), done}, policy.Ask},
		"after the answer":          {[]memory.Body{from("ada", "5"), over(chat.Accepted), from("ada", address), done}, policy.Auto},
		"after it was declined":     {[]memory.Body{from("ada", "decline"), over(chat.Declined), from("ada", address), done}, policy.Auto},
		"too late":                  {[]memory.Body{done, in, from("ada", address)}, policy.Ask},
		"too late, in two parts":    {[]memory.Body{in, from("ada", "well"), from("ada", address), done}, policy.Ask},
		"first after its time":      {slices.Concat([]memory.Body{done, in}, later, []memory.Body{from("ada", address)}), policy.Ask},
		"once its time is over":     {slices.Concat([]memory.Body{done, in, from("ada", "well")}, later, []memory.Body{from("ada", address)}), policy.Auto},
		"too late of somebody else": {[]memory.Body{done, in, from("ben", address)}, policy.Auto},
	} {
		log := asksIn(true, tt.more...)
		seen := uint64(len(log))
		step := stepWith(1, 2, seen, memory.Call{ID: "o", Tool: "read_page", Args: `{"url":"` + address + `"}`, Object: true})
		log = append(log, memory.Entry{Seq: seen + 1, At: log[seen-1].At, Body: step})
		th := agent.NewLog(log, agent.Claim{}).Thread
		if got, _ := (taint.Watch{On: true, Tools: a.Tools, Thread: th}).Risk(a.Tools[1], th.Calls["o"]); got != tt.want {
			t.Errorf("%s: %s, want %s", name, got, tt.want)
		}
	}
}

// An answer to a server approves nothing: while the question stands it is the server's, also
// with the number of a card, and one that comes too late has to name the card.
func TestAnswersApproveNothing(t *testing.T) {
	t.Parallel()
	for claim, words := range map[string][]string{"": {"y", "y 1", "allow 1h", "allow 1 1h"}, "past": {"y", "allow 1h"}} {
		for _, word := range words {
			s := newSim(asking(newTool("deploy", policy.Ask, anyone)))
			s.model = callsOnce("deploy")
			s.says("ada", "deploy")
			s.run()
			s.add(memory.Question{ID: "q", Call: s.log().Thread.PendingCalls()[0].ID, Claim: claim, Asks: chat.Question{From: "ops", Text: "Sure?"}})
			s.add(memory.Posted{Key: memory.PostKey("question/q", "Sure?"), Ref: ref("asks")})
			s.run()
			s.says("ada", word)
			if s.run(); len(s.ran) > 0 {
				t.Errorf("claim %q: %q ran %v", claim, word, s.ran)
			}
			if s.says("ada", "y 1"); claim == "past" {
				if s.run(); len(s.ran) != 1 {
					t.Errorf("after %q, y 1 ran %v", word, s.ran)
				}
			}
		}
	}
}

// A person may answer before the log says where the question stands. A message that was
// sent before the question stood is no answer.
func TestReplyBeforeTheLog(t *testing.T) {
	t.Parallel()
	for after, want := range map[time.Duration]bool{time.Second: true, 0: true, -time.Second: false} {
		said, asked := from("ada", "5"), asksIn(true)
		said.Sent = morning.Add(after)
		posted := asked[5].Body.(memory.Posted)
		posted.Stood = morning
		asked[5].Body = said
		th := agent.NewLog(append(asked, memory.Entry{Seq: 7, At: asked[5].At, Body: posted}), agent.Claim{}).Thread
		if _, ok := th.Reply("q"); ok != want || len(th.Open.Msgs) != map[bool]int{true: 1, false: 2}[want] {
			t.Errorf("sent %s after it: a reply %t, %d messages", after, ok, len(th.Open.Msgs))
		}
	}
}

// A question ends once nobody waits for its answer, and after its time, which begins when
// it is asked: one after the other. A reply to a question that is over is a message.
func TestQuestionsEnd(t *testing.T) {
	t.Parallel()
	a := asking(newTool("deploy", policy.Auto, anyone))
	end := func(log []memory.Entry, token string) chat.How {
		act, _ := a.Next(agent.NewLog(log, agent.Claim{Token: token, Self: "me"})).(do.Record)
		for _, b := range act.Bodies {
			if b, ok := b.(memory.Answered); ok {
				return b.Answer.How
			}
		}
		return ""
	}
	late := asksIn(true)
	late = append(late, memory.Entry{Seq: 7, At: late[5].At.Add(chat.AnswerWithin), Body: memory.Due{}})
	for name, tt := range map[string]struct {
		log   []memory.Entry
		token string
		want  chat.How
	}{
		"its claim runs":    {asksIn(false), "now", ""},
		"its claim is over": {asksIn(false), "later", chat.Dropped},
		"an effect waits":   {asksIn(true), "later", ""},
		"its time is over":  {late, "now", chat.Unanswered},
	} {
		if got := end(tt.log, tt.token); got != tt.want {
			t.Errorf("%s: it ends as %q, want %q", name, got, tt.want)
		}
	}
	second := memory.Question{ID: "r", Call: "d", Claim: "now", Asks: chat.Question{From: "ops", Text: "And?"}}
	if got := end(asksIn(true, second), "now"); got != "" {
		t.Errorf("a question before it is asked ends as %q", got)
	}
	over := memory.Answered{Question: "q", Answer: chat.Answer{How: chat.Dropped}}
	log := agent.NewLog(asksIn(true, from("ada", "5"), over), agent.Claim{})
	if msgs := log.Thread.Open.Msgs; msgs[len(msgs)-1].Text != "5" {
		t.Error("a reply that nobody took is lost")
	}
}

// The first outcome stands. Only a real one that comes after an unknown one corrects it,
// once, and people are told once.
func TestCorrections(t *testing.T) {
	t.Parallel()
	a := asking(newTool("deploy", policy.Auto, anyone))
	result := func(state chat.CallState) memory.Body {
		return memory.Result{Call: "d", Tool: "deploy", State: state, Text: string(state)}
	}
	unknown, done, failed := result(chat.CallUnknown), result(chat.CallDone), result(chat.CallFailed)
	for name, tt := range map[string]struct {
		results []memory.Body
		want    int
	}{
		"one outcome":         {[]memory.Body{done}, 0},
		"a second one":        {[]memory.Body{done, failed}, 0},
		"a real one at last":  {[]memory.Body{unknown, done}, 1},
		"still unknown":       {[]memory.Body{unknown, unknown}, 0},
		"two real ones":       {[]memory.Body{unknown, done, failed}, 1},
		"people are told":     {[]memory.Body{unknown, done, memory.Posted{Key: "correction/d~x", Ref: ref("told")}}, 1},
		"of an unknown call":  {[]memory.Body{memory.Result{Call: "past", State: chat.CallDone}}, 1},
		"nothing of the past": {[]memory.Body{memory.Result{Call: "past", State: chat.CallUnknown}}, 0},
	} {
		log := agent.NewLog(entriesOf(append([]memory.Body{
			from("ada", "go"), memory.Opened{Turn: 1, Name: "1", Requester: chat.User{ID: "ada"}}, stepWith(1, 1, 2, callOf("d", "deploy")), memory.Started{Call: "d", Tool: "deploy"},
		}, tt.results...)...), agent.Claim{})
		if got := len(log.Thread.Corrections); got != tt.want {
			t.Errorf("%s: %d corrections, want %d", name, got, tt.want)
		}
		post, tells := a.Next(log).(do.Post)
		tells = tells && strings.HasPrefix(post.Post.Key, "correction/")
		if tells != (tt.want > 0 && name != "people are told") {
			t.Errorf("%s: people are told: %v", name, tells)
		}
	}
}

// A call goes on at its server by the handle in the log: a task is asked for by each holder
// of the thread; a side effect goes on once its questions are answered, but not in a store
// that came back older. A stopped task is ended at its server.
func TestHeld(t *testing.T) {
	t.Parallel()
	a := asking(newTool("deploy", policy.Auto, anyone))
	asks := memory.Held{Call: "d", Handle: chat.Handle{Key: "state", Server: "ops", Asks: []chat.Question{{From: "ops", Text: "Sure?"}}}}
	task := memory.Held{Call: "d", Handle: chat.Handle{Key: "task", Server: "ops", Repeats: true}}
	posted := memory.Posted{Key: memory.PostKey("question/d?1-1", "Sure?"), Ref: ref("asks")}
	answered := memory.Answered{Question: "d?1-1", Message: 7, Answer: chat.Answer{How: chat.Accepted}}
	shown := memory.Posted{Key: "question/d?1-1/done"}
	stopped := memory.Stopped{Turn: 1, Seen: 9}
	for name, tt := range map[string]struct {
		more []memory.Body
		want string
	}{
		"a question":                           {[]memory.Body{asks}, "post"},
		"that stands":                          {[]memory.Body{asks, posted}, "wait"},
		"with a reply, of whatever process":    {[]memory.Body{asks, posted, from("ada", "yes")}, "record accepted"},
		"that is answered":                     {[]memory.Body{asks, posted, from("ada", "yes"), answered, shown}, "effect"},
		"in an older copy":                     {[]memory.Body{asks, posted, from("ada", "yes"), answered, shown, memory.Lost{}}, "record outcome unknown"},
		"of a stopped turn":                    {[]memory.Body{asks, posted, stopped}, "record dropped"},
		"whose end is shown":                   {[]memory.Body{asks, posted, stopped, memory.Answered{Question: "d?1-1", Answer: chat.Answer{How: chat.Dropped}}, shown}, "record cancelled"},
		"a task":                               {[]memory.Body{task}, "run"},
		"a task in an older copy":              {[]memory.Body{task, memory.Lost{}}, "run"},
		"a task that is stopped":               {[]memory.Body{task, stopped}, "run to stop"},
		"a task behind an answer":              {[]memory.Body{asks, posted, answered, shown, memory.Started{Call: "d", Tool: "deploy", By: "it"}, task}, "run"},
		"a call that went on in one that died": {[]memory.Body{asks, posted, answered, shown, memory.Started{Call: "d", Tool: "deploy", By: "it"}}, "wait"},
		"a handle that comes twice":            {[]memory.Body{asks, posted, answered, shown, memory.Started{Call: "d", Tool: "deploy", By: "it"}, asks}, "wait"},
		"a handle that comes behind the next":  {[]memory.Body{asks, posted, answered, shown, memory.Started{Call: "d", Tool: "deploy", By: "it"}, task, asks}, "run"},
		"a handle that comes too late":         {[]memory.Body{memory.Result{Call: "d", State: chat.CallUnknown}, task}, "call"},
	} {
		log := agent.NewLog(entriesOf(append([]memory.Body{
			from("ada", "go"), memory.Opened{Turn: 1, Name: "1", Requester: chat.User{ID: "ada"}}, stepWith(1, 1, 2, callOf("d", "deploy")), memory.Started{Call: "d", Tool: "deploy", By: "it"},
		}, tt.more...)...), agent.Claim{Self: "other", Since: 99})
		if got := actName(a.Next(log)); got != tt.want {
			t.Errorf("%s: %s, want %s", name, got, tt.want)
		}
		if _, own := log.Thread.Resumed(log.Thread.Calls["d"]); tt.want == "effect" && !own {
			t.Errorf("%s: it is not ready", name)
		}
	}
}

// actName is an action in a word or two.
func actName(act do.Action) string {
	switch act := act.(type) {
	case do.Post:
		return "post"
	case do.Effect:
		return "effect"
	case do.Call:
		return "call"
	case do.Run:
		if act.Stop {
			return "run to stop"
		}
		return "run"
	case do.Record:
		switch b := act.Bodies[0].(type) {
		case memory.Result:
			return "record " + string(b.State)
		case memory.Answered:
			return "record " + string(b.Answer.How)
		}
	case do.Wait:
		return "wait"
	}
	return fmt.Sprintf("%T", act)
}
