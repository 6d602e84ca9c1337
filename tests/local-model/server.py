"""A small real model behind llama.cpp's server, on a loopback port of its own choice.

Prints its address, and ends when its standard input does: whoever started it cannot leave it behind.
"""

import sys

import xllamacpp

params = xllamacpp.CommonParams()
params.model.path = sys.argv[1]
# Two threads are slower than one when the machine is busy.
params.cpuparams.n_threads = 1
params.cpuparams_batch.n_threads = 1
params.n_parallel = 1
params.n_ctx = 8192
# A model of this size may talk for ever.
params.n_predict = 256
params.sampling.temp = 0.0
params.sampling.seed = 7
server = xllamacpp.Server(params)
print(server.listening_address, flush=True)
sys.stdin.read()
