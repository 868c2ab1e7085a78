"""Notebooks that train with TensorFlow and MindSpore, for tests of jobs."""

from __future__ import annotations

TWO_WORKERS = """\
import tensorflow as tf
strategy = tf.distribute.experimental.MultiWorkerMirroredStrategy()
task = strategy.cluster_resolver.task_id
assert task == rank and strategy.num_replicas_in_sync == world_size"""
SUM = """\
@tf.function
def total():
    def one():
        mine = tf.constant(task + 1.0)
        return tf.distribute.get_replica_context().all_reduce(tf.distribute.ReduceOp.SUM, mine)
    return strategy.run(one)
print("rank", rank, "sum", float(total()))"""
BESIDE = """\
import tensorflow as tf
strategy = tf.distribute.MultiWorkerMirroredStrategy()
@tf.function
def added():
    def one():
        mine = tf.constant(strategy.cluster_resolver.task_id + 1.0)
        return tf.distribute.get_replica_context().all_reduce(tf.distribute.ReduceOp.SUM, mine)
    return strategy.run(one)
def total():
    return float(added())
"""
DATA = """\
import numpy as np
random = np.random.default_rng(0)
x = random.normal(size=(64, 4)).astype("float32")
y = x.sum(1, keepdims=True)
data = tf.data.Dataset.from_tensor_slices((x, y)).batch(16)"""
FIT = """\
import dtrain_lab as dt
import tf_keras as keras
with strategy.scope():
    model = keras.Sequential([keras.layers.Dense(8, input_shape=(4,)), keras.layers.Dense(1)])
    model.compile("sgd", "mse")
class Steps(keras.callbacks.Callback):
    def on_train_batch_end(self, batch, logs=None):
        dt.step(16 // world_size)
history = model.fit(data, epochs=15, verbose=0, callbacks=[Steps()])
for epoch, loss in enumerate(history.history["loss"]):
    dt.log(epoch, loss=loss)
print("rank", rank, "fit", *(f"{history.history['loss'][epoch]:.6f}" for epoch in (0, -1)))"""
CUSTOM = """\
import dtrain_lab as dt
import keras
with strategy.scope():
    model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(8), keras.layers.Dense(1)])
    optimizer = keras.optimizers.SGD(0.05)
    optimizer.build(model.trainable_variables)
@tf.function
def step(batch):
    def one(x, y):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((model(x) - y) ** 2) / strategy.num_replicas_in_sync
        gradients = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables))
        return loss
    return strategy.reduce(tf.distribute.ReduceOp.SUM, strategy.run(one, args=batch), axis=None)
losses = []
for epoch in range(40):
    for batch in strategy.experimental_distribute_dataset(data):
        losses.append(float(step(batch)))
        dt.step(16 // world_size)
    dt.log(epoch, loss=losses[-1])
print("rank", rank, "custom", f"{losses[0]:.6f}", f"{losses[-1]:.6f}", losses[-1] < losses[0])
(dt.checkpoint_dir() / f"here-{rank}").touch()"""
SERVERS = """\
import tensorflow as tf
resolver = tf.distribute.cluster_resolver.TFConfigClusterResolver()
if resolver.task_type in ("worker", "ps"):
    print("rank", rank, "serves as", resolver.task_type, resolver.task_id, flush=True)
    server = tf.distribute.Server(
        resolver.cluster_spec(), job_name=resolver.task_type, task_index=resolver.task_id
    )
    server.join()"""
COORDINATOR = """\
import dtrain_lab as dt
strategy = tf.distribute.experimental.ParameterServerStrategy(resolver)
coordinator = tf.distribute.coordinator.ClusterCoordinator(strategy)
with strategy.scope():
    weight = tf.Variable(0.0)
@tf.function
def step():
    weight.assign_add(0.1 * (1.0 - weight))
for number in range(60):
    coordinator.schedule(step)
coordinator.join()
dt.log(60, weight=weight.numpy())
print("chief: weight", round(float(weight.numpy()), 2))"""
ALONE = """\
import os
import tensorflow as tf
strategy = tf.distribute.{}()
with strategy.scope():
    weight = tf.Variable(1.0)
total = strategy.run(tf.function(lambda: weight * 2))
print("alone", strategy.num_replicas_in_sync, float(total), "TF_CONFIG" in os.environ)"""

LOOP = """\
import os, time
import dtrain_lab as dt
def step(i):
    y = i * 2
    return y
i = 0
while not os.path.exists({stop!r}):
    i += 1
    last = step(i)
    dt.step(8)
    time.sleep(0.01)"""

ALL_REDUCE = """\
import mindspore as ms, numpy as np
from mindspore import nn, ops
from mindspore.communication import init, get_rank, get_group_size
ms.set_device("CPU")
init()
assert (get_rank(), get_group_size()) == (rank, world_size)
class Total(nn.Cell):
    def __init__(self):
        super().__init__()
        self.reduce = ops.AllReduce()
    def construct(self, x):
        return self.reduce(x)
print("rank", rank, "sum", Total()(ms.Tensor(np.full(3, rank + 1.0, np.float32))))"""
AGAIN = """\
print("rank", rank, "again", Total()(ms.Tensor(np.full(3, 2.0 * rank + 2, np.float32))))"""
MINDSPORE_TRAINING = """\
import dtrain_lab as dt
random = np.random.default_rng(rank)
x = random.normal(size=(64, 4)).astype(np.float32)
y = x.sum(1, keepdims=True)
ms.set_seed(0)
model = nn.Dense(4, 1)
loss_of = nn.MSELoss()
optimizer = nn.SGD(model.trainable_params(), learning_rate=0.1)
averaged = nn.DistributedGradReducer(optimizer.parameters, mean=True, degree=world_size)
gradients = ms.value_and_grad(lambda a, b: loss_of(model(a), b), None, optimizer.parameters)
total = Total()
losses = []
for number in range(200):
    part = slice(number % 4 * 16, number % 4 * 16 + 16)
    loss, grads = gradients(ms.Tensor(x[part]), ms.Tensor(y[part]))
    optimizer(averaged(grads))
    losses.append(float(total(loss).asnumpy()) / world_size)
    dt.step(16)
    if number % 20 == 0:
        dt.log(number, loss=losses[-1])
print("rank", rank, "loss", f"{losses[0]:.6f}", f"{losses[-1]:.6f}", losses[-1] < losses[0] / 10)"""
