package fakediscord

import (
	"encoding/json"
	"slices"
	"time"
)

// Gateway intents: https://discord.com/developers/docs/events/gateway#gateway-intents
const (
	IntentGuilds          = 1 << 0
	IntentGuildMembers    = 1 << 1 // privileged
	IntentGuildMessages   = 1 << 9
	IntentGuildReactions  = 1 << 10
	IntentDirectMessages  = 1 << 12
	IntentDirectReactions = 1 << 13
	IntentMessageContent  = 1 << 15 // privileged

	intentPresences  = 1 << 8 // privileged
	privileged       = IntentGuildMembers | intentPresences | IntentMessageContent
	everyIntent      = 1<<17 - 1 | 1<<20 | 1<<21 | 1<<24 | 1<<25
	intentGuildTypes = 1 << 11
	intentDMTypes    = 1 << 14
)

// session outlives its connections: a resume replays the events in between.
type session struct {
	id       string
	shard    [2]int
	intents  int
	compress bool
	seq      int64
	log      []dispatch
	conn     *Connection // nil while the bot is away
	left     time.Time   // when it went away
}

// dispatch is an event as it was sent.
type dispatch struct {
	seq     int64
	kind    string
	payload []byte
}

// event is something that happened, before it is known who is told.
type event struct {
	kind    string
	guild   *guild   // nil in DMs
	channel *channel // that one must see to be told; nil: everybody is told
	message *message // whose content only an intent shows; nil: nothing is hidden
	data    object
	self    bool // it is about the bot's own membership
}

// intent tells which intent an event takes; 0: none.
func (e event) intent() int {
	dm := e.guild == nil
	pick := func(inGuild, inDM int) int {
		if dm {
			return inDM
		}
		return inGuild
	}
	switch e.kind {
	case "MESSAGE_CREATE", "MESSAGE_UPDATE", "MESSAGE_DELETE", "MESSAGE_DELETE_BULK":
		return pick(IntentGuildMessages, IntentDirectMessages)
	case "MESSAGE_REACTION_ADD", "MESSAGE_REACTION_REMOVE", "MESSAGE_REACTION_REMOVE_ALL", "MESSAGE_REACTION_REMOVE_EMOJI":
		return pick(IntentGuildReactions, IntentDirectReactions)
	case "TYPING_START":
		return pick(intentGuildTypes, intentDMTypes)
	case "GUILD_MEMBER_ADD", "GUILD_MEMBER_UPDATE":
		if e.self {
			return 0 // of the bot itself it is told anyway
		}
		return IntentGuildMembers
	case "INTERACTION_CREATE":
		return 0
	default:
		return IntentGuilds
	}
}

// happen tells every session that may know. The lock is held.
func (s *Server) happen(e event) {
	defer s.change()
	if s.holding > 0 {
		s.held = append(s.held, e)
		if s.holding--; s.holding == 0 {
			held := s.held
			s.held = nil
			slices.Reverse(held)
			for _, e := range held {
				s.tell(e)
			}
		}
		return
	}
	s.tell(e)
}

func (s *Server) tell(e event) {
	times := 1
	if s.duplicates > 0 {
		s.duplicates--
		times = 2
	}
	for _, id := range slices.Clone(s.sessionOrder) { // meant may forget one
		if to := s.sessions[id]; to != nil && s.meant(to, e) {
			for range times {
				s.send(to, e)
			}
		}
	}
}

// meant tells whether a session gets an event: right shard, right intents, and
// a channel that the bot sees.
func (s *Server) meant(to *session, e event) bool {
	if to.conn == nil && s.now().Sub(to.left) > s.options.ResumeWindow {
		s.forget(to)
		return false
	}
	if shardOf(e.guild, to.shard[1]) != to.shard[0] {
		return false
	}
	if need := e.intent(); need != 0 && to.intents&need == 0 {
		return false
	}
	return e.channel == nil || sees(e.channel, s.bot)
}

// send numbers an event, keeps it for a resume, and queues it.
func (s *Server) send(to *session, e event) {
	data := raw(e.data)
	blind := e.message != nil && to.intents&IntentMessageContent == 0
	if blind || s.twist != nil {
		var own object
		if json.Unmarshal(data, &own) == nil {
			if blind {
				own = s.shield(own, e.message)
			}
			if s.twist != nil {
				s.twist(e.kind, own)
			}
			data = raw(own)
		}
	}
	s.sendRaw(to, e.kind, data)
}

func (s *Server) sendRaw(to *session, kind string, data json.RawMessage) {
	to.seq++
	d := dispatch{seq: to.seq, kind: kind}
	d.payload = raw(object{"op": 0, "s": d.seq, "t": kind, "d": data})
	to.log = append(to.log, d)
	if to.conn != nil {
		to.conn.push(frame{data: d.payload})
	}
}

// forget ends a session: it can't be resumed.
func (s *Server) forget(gone *session) {
	delete(s.sessions, gone.id)
	s.sessionOrder = slices.DeleteFunc(s.sessionOrder, func(id string) bool { return id == gone.id })
}

// open starts a session and tells it what there is.
func (s *Server) open(c *Connection, to *session) {
	to.id, to.conn, c.session = "session-"+s.newID(), c, to
	s.sessions[to.id] = to
	s.sessionOrder = append(s.sessionOrder, to.id)
	var mine []*guild
	guilds := []object{}
	for _, id := range s.guildOrder {
		if g := s.guilds[id]; shardOf(g, to.shard[1]) == to.shard[0] {
			mine = append(mine, g)
			guilds = append(guilds, object{"id": id, "unavailable": true})
		}
	}
	s.send(to, event{kind: "READY", data: object{
		"v": c.version, "user": s.botObject(), "guilds": guilds, "session_id": to.id, "session_type": "normal",
		"resume_gateway_url": s.socket("/resume"), "shard": to.shard, "private_channels": []object{},
		"application": object{"id": s.app.id, "flags": s.applicationFlags()},
	}})
	for _, g := range mine {
		tell := func() {
			if e := (event{kind: "GUILD_CREATE", guild: g}); s.sessions[to.id] != nil && to.intents&e.intent() != 0 {
				e.data = s.guildEvent(g, to.intents&IntentGuildMembers != 0)
				s.send(to, e)
			}
		}
		if s.guildsLater {
			s.laterGuilds = append(s.laterGuilds, tell)
			continue
		}
		tell()
	}
}

// resume continues a session from seq, or says that there is none.
func (s *Server) resume(c *Connection, id string, seq int64) {
	to := s.sessions[id]
	if to == nil || to.conn == nil && s.now().Sub(to.left) > s.options.ResumeWindow {
		s.stats.Refused++
		c.push(frame{data: raw(object{"op": 9, "d": false})})
		return
	}
	if seq > to.seq {
		c.push(frame{close: 4007, text: "Invalid seq"})
		return
	}
	if to.conn != nil {
		to.conn.session = nil
	}
	s.stats.Resumes++
	to.conn, c.session, c.resumed = c, to, true
	for _, d := range to.log {
		if d.seq > seq && d.kind != "RESUMED" {
			c.push(frame{data: d.payload})
		}
	}
	s.send(to, event{kind: "RESUMED", data: object{"_trace": []string{}}})
}
