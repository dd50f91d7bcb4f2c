// Package sim plays episodes of nod in a world of its own: many processes, each
// with a real [nod/agent/run.Runner], over a model of the store, a model of the
// platform, people and a language model; in virtual time, one routine at a time,
// in an order that one seeded random source picks. Processes crash, stand still
// and are cut off; the store goes away, loses answers or what was written last;
// the platform is slow, repeats itself and refuses. A checker that knows the
// guarantees in its own words looks at every entry, post and tool call.
//
// The model of the store passes the contract suite that the real stores pass
// (internal/storetest), and so it can't promise more than they do.
//
// An episode is a function of its seed. When a guarantee breaks, its script is
// cut down to what is needed and written to a file:
//
//	make sim TURNS=1000000 SEED=1
package sim
