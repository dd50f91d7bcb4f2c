package fakediscord

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"time"
)

// epoch is the first millisecond that a snowflake can tell:
// https://discord.com/developers/docs/reference#snowflakes
const epoch = 1420070400000

// Channel types: https://discord.com/developers/docs/resources/channel
const (
	textChannel   = 0
	dmChannel     = 1
	voiceChannel  = 2
	newsChannel   = 5
	newsThread    = 10
	forumChannel  = 15
	publicThread  = 11
	privateThread = 12
)

// Message types: https://discord.com/developers/docs/resources/message
const (
	plainMessage   = 0
	threadCreated  = 18
	replyMessage   = 19
	commandMessage = 20
	threadStarter  = 21
)

// Message flags, as far as the server treats them in a special way.
const (
	flagHasThread  = 1 << 5
	flagEphemeral  = 1 << 6
	flagLoading    = 1 << 7
	flagComponents = 1 << 15
)

// world is everything that exists. The server's lock guards it.
type world struct {
	bot, app     *user
	users        map[string]*user
	guilds       map[string]*guild
	guildOrder   []string
	channels     map[string]*channel
	messages     map[string]*message
	dms          map[string]*channel // by the person's id
	files        map[string]File     // by attachment id
	commands     []object
	interactions map[string]*interaction // by token
	nonces       map[string]*message     // by author and nonce
	clock        func() time.Time
	abroad       bool // commands come from where the bot may not be
	context      *int
	appOwner     string   // who made the application
	harmful      []string // words of links that nobody may post
	last, past   int64    // the newest snowflake, and the newest of what is older than the test
}

type user struct {
	id, name, shown string
	bot, closed     bool // closed: takes no DMs
}

type role struct {
	id, name    string
	permissions int64
	managed     bool
	mentionable bool   // anybody may ring with it
	bot         string // whose own role it is, which came with the invitation
	position    int
}

type guild struct {
	tier            int // of its boosts
	id, name, owner string
	roles           []*role
	members         map[string]*member
	order           []string // of the members
	channels        []string
	blocked         []string // words that AutoMod lets nobody say
}

type member struct {
	roles  []string
	joined time.Time
}

type overwrite struct {
	id          string
	person      bool
	allow, deny int64
}

type channel struct {
	id, name   string
	kind       int
	guild      *guild   // nil for a DM
	parent     *channel // nil unless a thread
	recipient  *user    // of a DM
	owner      string   // who made the thread
	overwrites []overwrite
	messages   []*message
	members    []string // of a thread
	archived   bool
	locked     bool
	archive    int // minutes
	created    time.Time
	changed    time.Time // when it was last archived or opened
}

func (c *channel) thread() bool {
	return c.kind == publicThread || c.kind == privateThread || c.kind == newsThread
}

// ground is the channel whose permissions count.
func (c *channel) ground() *channel {
	if c.parent != nil {
		return c.parent
	}
	return c
}

// message is a Message with what only the server needs.
type message struct {
	Message
	author     *user
	channel    *channel
	hook       string // the webhook's or application's id, when one of them posted it
	everyone   bool
	mentions   []string // users
	roles      []string
	components []any
	embeds     []any
	forward    *message
	stickers   []string
	poll       []string     // the question and the answers
	began      *interaction // that it answers
	thread     *channel     // that it began
	reactions  []*reaction
}

type reaction struct {
	emoji  Emoji
	normal []string // users, in the order in which they reacted
	burst  []string
}

// of gives the users of normal or super reactions.
func (r *reaction) of(burst bool) *[]string {
	if burst {
		return &r.burst
	}
	return &r.normal
}

func newWorld(o Options) world {
	w := world{
		users: map[string]*user{}, guilds: map[string]*guild{}, channels: map[string]*channel{},
		messages: map[string]*message{}, dms: map[string]*channel{}, files: map[string]File{},
		interactions: map[string]*interaction{}, nonces: map[string]*message{}, clock: o.Now,
		past: 300_000_000_000 << 22,
	}
	w.bot = &user{id: w.oldID(), name: o.Name, bot: true}
	w.app = w.bot // an application's id is its bot's id since 2016
	if o.OldApp {
		w.app = &user{id: w.oldID(), name: o.Name}
	}
	w.users[w.bot.id] = w.bot
	return w
}

// newID gives the id of something that is made now. Ids rise.
func (w *world) newID() string {
	id := (w.clock().UnixMilli() - epoch) << 22
	w.last = max(w.last+1, id)
	return strconv.FormatInt(w.last, 10)
}

// oldID gives the id of something made long ago. Neighbours differ in the
// timestamp, so guilds spread over shards.
func (w *world) oldID() string {
	w.past += 1 << 22
	return strconv.FormatInt(w.past, 10)
}

// number reads a snowflake; 0 when it isn't one.
func number(id string) int64 {
	n, err := strconv.ParseInt(id, 10, 64)
	if err != nil {
		return 0
	}
	return n
}

// shardOf tells which of n shards gets what happens in a guild; DMs, with no
// guild, are on shard 0.
func shardOf(g *guild, n int) int {
	if g == nil || n <= 1 {
		return 0
	}
	return int(number(g.id) >> 22 % int64(n))
}

func must[T any](from map[string]*T, kind, id string) *T {
	found := from[id]
	if found == nil {
		panic(fmt.Sprintf("fakediscord: no %s has the id %q", kind, id))
	}
	return found
}

// addMember lets a user into a guild.
func (w *world) addMember(g *guild, u *user) {
	if g.members[u.id] == nil {
		g.members[u.id] = &member{joined: w.clock()}
		g.order = append(g.order, u.id)
	}
}

// dm gives the channel between a person and the bot.
func (w *world) dm(u *user) *channel {
	c := w.dms[u.id]
	if c == nil {
		c = &channel{id: w.oldID(), kind: dmChannel, recipient: u, created: w.clock()}
		w.dms[u.id], w.channels[c.id] = c, c
	}
	return c
}

// live gives the messages of a channel that are not deleted, oldest first.
func (c *channel) live() []*message {
	return slices.DeleteFunc(slices.Clone(c.messages), func(m *message) bool { return m.Deleted })
}

// activeThreads gives the threads of a guild that are not archived.
func (w *world) activeThreads(g *guild) []*channel {
	var out []*channel
	for _, id := range g.channels {
		if c := w.channels[id]; c.thread() && !c.archived {
			out = append(out, c)
		}
	}
	return out
}

// reacted finds a reaction on a message; nil when nobody put it there.
func (m *message) reacted(e Emoji) *reaction {
	for _, r := range m.reactions {
		if r.emoji == e {
			return r
		}
	}
	return nil
}

// raw gives v as JSON.
func raw(v any) json.RawMessage {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err) // only what came as JSON is here
	}
	return b
}
