package run

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"nod/agent"
	"nod/chat"
	"nod/chat/patience"
	"nod/memory"
)

// questions are the open questions of this process's calls. A question and its answer
// are entries of the thread's log. So the call gets the answer from any holder of the
// thread: from this process's driver, or by reading the log.
type questions struct {
	mu   sync.Mutex
	of   map[string]*waiting // by the question's id
	over bool                // the process drains
}

// waiting is a call that waits for an answer.
type waiting struct {
	id     string
	came   Signal
	answer *chat.Answer
}

// Reasons why nobody is asked, in words for the tool.
var (
	errTooOften = errors.New("it has asked as often as it may in one call")
	errEnding   = errors.New("this program is ending")
)

// mostWait bounds the wait for an answer: a question may stand behind others of the
// thread, and a lost one is never answered.
const mostWait = 4 * chat.AnswerWithin

// lookAgain is how often the log is read while another process may hold the thread.
const lookAgain = 2 * time.Second

// asker lets a call ask its requester. During the wait for them the call's own limit
// stands still.
func (d *driver) asker(call string, limit *patience.Limit) func(context.Context, chat.Question) (chat.Answer, error) {
	var n atomic.Int64
	return func(ctx context.Context, q chat.Question) (chat.Answer, error) {
		mine := n.Add(1)
		if mine > chat.MostQuestions {
			return chat.Answer{}, errTooOften
		}
		defer limit.Pause()()
		claim := memory.Short(d.held.Token)
		// The next holder runs a read again; a side effect ends, and its outcome is
		// told.
		return d.question(ctx, limit != nil, memory.Question{
			ID: call + "?" + claim + "-" + strconv.FormatInt(mine, 10), Call: call, By: d.Store.Self(), Claim: claim, Asks: q,
		})
	}
}

// question asks, and waits for the answer.
func (d *driver) question(ctx context.Context, effect bool, q memory.Question) (chat.Answer, error) {
	w := &waiting{id: q.ID, came: d.Host.Signal()}
	if !d.questions.add(w) {
		return chat.Answer{}, errEnding
	}
	defer d.questions.drop(w)
	defer d.Host.After(ctx, w.came.Set)()
	if err := d.putQuestion(ctx, w, q); err != nil {
		return chat.Answer{}, err
	}
	until := d.Host.Now().Add(mostWait)
	for {
		answer, ended := d.questions.answer(w)
		if answer != nil {
			return *answer, nil
		}
		if ended && effect || ctx.Err() != nil || !d.Host.Now().Before(until) {
			d.letters.put(d.thread, memory.Answered{Question: q.ID, Answer: chat.Answer{How: chat.Dropped}}, "dropped/"+q.ID)
			return chat.Answer{How: chat.Dropped}, nil
		}
		w.came.Wait(d.Host.Now().Add(lookAgain))
		if d.gone() {
			d.lookFor(ctx, w)
		}
	}
}

// putQuestion puts a question into the thread's inbox, again and again while the
// store is away.
func (d *driver) putQuestion(ctx context.Context, w *waiting, q memory.Question) error {
	wait := backoff{}
	for {
		_, err := d.Store.Put(ctx, d.thread, q, "question/"+q.ID)
		if err == nil {
			return nil
		}
		d.health.fails(d.Log, err)
		if _, ended := d.questions.answer(w); ended || ctx.Err() != nil || errors.Is(err, memory.ErrFenced) {
			return fmt.Errorf("the question could not be kept")
		}
		w.came.Wait(d.Host.Now().Add(min(wait.next(), longPause)))
	}
}

// gone says whether the driver let its thread go.
func (d *driver) gone() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.over
}

// lookFor reads the log of a thread that another process may hold. The asker takes the
// reply: the holder does not know whether anybody still waits for it.
func (d *driver) lookFor(ctx context.Context, w *waiting) {
	ctx, cancel := context.WithTimeout(ctx, letterWait)
	defer cancel()
	tail, err := d.Store.Tail(ctx, d.thread, 0)
	if err != nil {
		return
	}
	log := agent.NewLog(tail.Log, agent.Claim{})
	d.questions.hear(log)
	if b, ok := log.Thread.Reply(w.id); ok && b.Answer.How != chat.Unfit {
		d.letters.put(d.thread, b, fmt.Sprintf("answered/%s/%d", w.id, b.Message))
	}
}

// add begins to wait; ok is false when the process ends.
func (q *questions) add(w *waiting) (ok bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.over {
		return false
	}
	if q.of == nil {
		q.of = map[string]*waiting{}
	}
	q.of[w.id] = w
	return true
}

func (q *questions) drop(w *waiting) {
	q.mu.Lock()
	defer q.mu.Unlock()
	delete(q.of, w.id)
}

// answer gives the outcome of a question; ended says that the process ends.
func (q *questions) answer(w *waiting) (answer *chat.Answer, ended bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	return w.answer, q.over
}

// hear takes answers from a thread's log.
func (q *questions) hear(log *agent.Log) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for id, w := range q.of {
		if asked := log.Thread.QuestionOf(id); asked != nil && asked.Over != nil && w.answer == nil {
			w.answer = &asked.Over.Answer
			w.came.Set()
		}
	}
}

// drain ends the wait: people take their time, and the process has none.
func (q *questions) drain() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.over = true
	for _, w := range q.of {
		w.came.Set()
	}
}
