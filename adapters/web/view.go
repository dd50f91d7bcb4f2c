package web

import (
	"net/url"
	"strconv"

	"nod/chat"
)

// channel is a place to talk in.
type channel struct {
	Name  string
	About string
	open  bool // what begins a thread here is for the bot, unless it is to somebody else
}

// channels are those of the workspace. The first is where one lands.
var channels = []channel{
	{"lobby", "What is said here is for nod, unless it is to somebody else.", true},
	{"general", "Say @nod to call it.", false},
	{"ops", "Say @nod to call it.", false},
}

// Address parts of places that are no channels.
const (
	directName   = "direct"
	terminalName = "terminal"
	waitingName  = "waiting" // the approvals that whoever looks may give
)

// screenful is how many messages a pane shows at first, and how many more at a time.
const screenful = 100

// view is what one browser shows: as whom, which channel, which thread beside it.
type view struct {
	Me      chat.User
	Channel string // a name of channels, directName or terminalName
	Root    string // the first message of the thread that is shown; "" is none
	At      string // a message that is shown however many are newer; "" is none
	Most    int    // so many of the newest messages are shown

	terminal chat.ThreadID
}

// view reads an address; what it does not say, or says wrong, is as at the start.
func (a *Adapter) view(q url.Values) view {
	v := view{Me: People[0], Channel: channels[0].Name, At: q.Get("at"), Most: screenful, terminal: a.o.Terminal}
	if p, ok := person(q.Get("as")); ok {
		v.Me = p
	}
	c := q.Get("c")
	_, known := channelNamed(c)
	if n, err := strconv.Atoi(q.Get("n")); err == nil && n > screenful {
		v.Most = n
	}
	if known || c == directName || c == waitingName || c == terminalName && a.o.Terminal != (chat.ThreadID{}) {
		v.Channel = c
	}
	if id, ok := cleanID(q.Get("t")); ok && known {
		v.Root = id
	}
	return v
}

func channelNamed(name string) (channel, bool) {
	return first(channels, func(c channel) bool { return c.Name == name })
}

// flat says whether the place is one conversation, without threads.
func (v view) flat() bool { return v.Channel == directName || v.Channel == terminalName }

// thread is the conversation that is shown whole; the zero one where there is
// none, as a channel shows the beginnings only.
func (v view) thread() chat.ThreadID {
	switch {
	case v.Channel == directName:
		return directOf(v.Me.ID)
	case v.Channel == terminalName:
		return v.terminal
	case v.Root != "":
		return threadID(v.Channel, v.Root)
	}
	return chat.ThreadID{}
}

// inChannel says whether the pane of the channel shows an item.
func (v view) inChannel(it *item) bool {
	switch {
	case it.only != "" && it.only != v.Me.ID:
		return false
	case v.Channel == waitingName:
		return it.card() != nil && v.reads(it.thread)
	case v.flat():
		return it.thread == v.thread()
	}
	return it.thread.Platform == Platform && it.thread.Channel == v.Channel && it.thread.Root == it.ref.ID
}

// inThread says whether the pane of the thread shows an item.
func (v view) inThread(it *item) bool {
	return v.Root != "" && it.thread == v.thread() && (it.only == "" || it.only == v.Me.ID)
}

func (v view) sees(it *item) bool { return v.inChannel(it) || v.inThread(it) }

// reads says whether whoever looks may read a conversation.
func (v view) reads(t chat.ThreadID) bool {
	return t.Platform == Platform && (!isDirect(t.Channel) || t == directOf(v.Me.ID))
}

// waits says whether an approval waits for whoever looks: they may give it, and have not.
// Where its card stands in two places, the one in its own thread counts.
func (v view) waits(it *item) bool {
	if !it.waiting() || !v.reads(it.thread) || it.post.Approval.Elsewhere && v.reads(it.asksIn()) {
		return false
	}
	b := ballotOf(*it, v.Me.ID)
	return b.Barred == "" && b.TakeBack == ""
}

// pane gives what a pane shows at first of all that is in it, and whether there is
// something earlier.
func (v view) pane(all []item, in func(*item) bool) (shown []item, earlier bool) {
	from := -1
	for _, it := range all {
		if it.off || !in(&it) || v.Channel == waitingName && !v.waits(&it) {
			continue
		}
		if it.ref.ID == v.At {
			from = len(shown)
		}
		shown = append(shown, it)
	}
	newest := max(0, len(shown)-v.Most)
	if from < 0 || from > newest {
		from = newest
	}
	return shown[from:], from > 0
}

// to is the address of a message.
func (v view) to(thread chat.ThreadID, ref chat.MessageRef) string {
	v, pane := v.at(thread.Channel, thread.Root), paneThread
	switch {
	case isDirect(thread.Channel):
		v.Channel, pane = directName, paneChannel
	case thread.Platform != Platform:
		v.Channel, v.Root, pane = terminalName, "", paneChannel
	}
	return v.url("/") + "&at=" + url.QueryEscape(ref.ID) + "#" + cardID(pane, ref)
}

// url is the address of a view.
func (v view) url(path string) string {
	q := url.Values{"as": {string(v.Me.ID)}, "c": {v.Channel}}
	if v.Root != "" {
		q.Set("t", v.Root)
	}
	return path + "?" + q.Encode()
}

// at is the same view of another place.
func (v view) at(channel, root string) view {
	v.Channel, v.Root = channel, root
	return v
}

// title is what the place is called.
func (v view) title() string {
	switch v.Channel {
	case directName:
		return nod
	case terminalName:
		return "terminal"
	case waitingName:
		return "Waiting for you"
	case directOf(v.Me.ID).Channel:
		return "the conversation with " + nod
	}
	return "#" + v.Channel
}

// about says what the place is for.
func (v view) about() string {
	switch v.Channel {
	case directName:
		return "Between " + v.Me.Display() + " and nod. What is said here is for nod."
	case terminalName:
		return "What is said in the terminal. It goes on there."
	case waitingName:
		return "Approvals that " + v.Me.Display() + " may give."
	}
	c, _ := channelNamed(v.Channel)
	return c.About
}
