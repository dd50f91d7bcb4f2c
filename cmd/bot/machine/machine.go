// Package machine asks the system that the program runs on: for the name of a process,
// whether a file could be made, and that programs which nod starts inherit nothing.
package machine
