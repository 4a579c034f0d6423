"""First and second derivatives of a robot arm's tip."""
import numjet as nj
import numjet.numpy as jnp


def tip(angles):
    total = jnp.cumsum(angles)
    return jnp.array([jnp.sum(jnp.cos(total)), jnp.sum(jnp.sin(total))])


def run():
    angles = jnp.array([0.3, -0.5, 0.8])
    return {"forward": nj.jacfwd(tip)(angles), "reverse": nj.jacrev(tip)(angles),
            "hessian": nj.jit(nj.hessian(lambda a: tip(a)[0]))(angles), "pushed": nj.jvp(tip, (angles,), (jnp.ones(3),))[1]}


if __name__ == "__main__":
    for name, value in run().items():
        print(name, value, sep=" = ")
